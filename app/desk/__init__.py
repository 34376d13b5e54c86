"""The desk: where admins score outlines and capstones, look after the discussion and read the audit trail."""
