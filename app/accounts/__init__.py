"""Who somebody is: sign-up, sign-in, sessions, roles."""
