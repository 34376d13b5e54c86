print("a,b")
