"""The course: Markdown on disk compiled into one immutable snapshot, and the pages that show it."""
