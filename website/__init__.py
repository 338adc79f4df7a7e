"""The site: pages gathered, reference pages made from the program, what readers see checked and tried."""
