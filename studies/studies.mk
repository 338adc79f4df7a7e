# Each paper's tables and figures; pictures and numbers go to studies/*/output.
.PHONY: studies study-semi-dp study-congenial-dp
studies: study-semi-dp study-congenial-dp

study-semi-dp: $(READY)
	.venv/bin/python -m studies.semi_dp.run

study-congenial-dp: $(READY)
	.venv/bin/python -m studies.congenial_dp.run
