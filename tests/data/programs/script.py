import argparse, sys
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--fail", choices=["raise", "exit", "ctrl-c"])
arguments = parser.parse_args()
print("argv", sys.argv[1:], __name__)
model = torch.nn.Linear(8, 4)
if arguments.compile:
    model = torch.compile(model)
with torch.no_grad():
    model(torch.randn(arguments.batch, 8))
if arguments.fail == "raise":
    raise ValueError("the script's own error")
if arguments.fail == "exit":
    sys.exit(7)
if arguments.fail == "ctrl-c":
    raise KeyboardInterrupt
