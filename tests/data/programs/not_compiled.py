# {model} is the model to compile
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.LSTM(4, 4)
    def forward(self, x):
        return self.layer(x)[0].relu()
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
    def forward(self, x):
        return torch.relu(x * self.weight).sum(0)
@torch.library.custom_op("not_compiled::op", mutates_args=())
def op(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
class Unfaked(Scaled):
    def forward(self, x):
        return op(x) * self.weight
module = {model}
model = torch.compile(module, dynamic=False)
for number in range(3):
    model(torch.randn(4 + number, 4))
optimizer = torch.optim.SGD(module.parameters())
for number in range(20):
    model(torch.randn(9, 4)).sum().backward()
    optimizer.step()
