"""What a learner has read and passed, by topic and by track."""
