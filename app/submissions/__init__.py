"""What was handed in, how its grading went, and the page that shows it live."""
