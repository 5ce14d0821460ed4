"""Method "auto": the decision, and the plans that it chooses from."""
