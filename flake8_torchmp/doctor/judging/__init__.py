"""From what the steps report to problems: one module for each kind of step."""
