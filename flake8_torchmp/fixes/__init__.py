"""What mends findings: one module a codemod, found by the name that a finding's repair carries.

A codemod has `change(repair, documents) -> Change` and raises NotFixable, with the reason in one line, on what it
does not know how to change rightly. Nothing here is imported by a check.
"""
