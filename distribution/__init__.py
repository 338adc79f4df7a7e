"""What is handed out: wheels and sources that anyone can build again, their bill of materials, a trial."""
