import torch

model = torch.nn.Linear(256, 10)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(12):
    x = torch.tensor([[(i * j * step) % 7 / 7 for j in range(256)] for i in range(512)])
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
