import sys
import torch
import torch.nn.functional as F

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(64)
        self.up, self.gate = torch.nn.Linear(64, 128), torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64)

    def forward(self, x):
        h = self.norm(x)
        g = F.gelu(self.gate(h)) * self.up(h)
        y = self.down(g)
        return torch.softmax(y, -1) + x, x[:8, :32] @ x[8:16, :32].t()

def build():
    torch.manual_seed(0)
    return Block(), (torch.randn(32, 64),)

if __name__ == "__main__":
    model, inputs = build()
    compiled = torch.compile(model)
    with torch.no_grad():
        compiled(*inputs)
        with torch.profiler.profile(record_shapes=True) as profile:
            for _ in range(2):
                compiled(*inputs)
                profile.step()
    profile.export_chrome_trace(sys.argv[1])
