print("n,square")
for name, n in (("one", 1), ("two", 2)):
    print(name, n * n, sep=",")
