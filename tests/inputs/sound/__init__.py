"""Write the audit log of a day on which every order that rules know is kept, as a small API server in memory would."""
