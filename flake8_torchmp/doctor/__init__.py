"""Runs the user's loader in processes of its own, and says what happens: the examination behind `torchmp doctor`.

What runs beside the patient, in its interpreter, is `inside/`; everything else stays out of reach and imports no torch.
"""
