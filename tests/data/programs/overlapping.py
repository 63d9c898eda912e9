import torch

def program(a, b, c, d, e, x):
    y = a + b * c + d.exp() * e.sin()  # kept: a later loop of the kernel reads it again
    normal = torch.nn.functional.layer_norm(y, (8192,)).bfloat16()
    return normal, x[:, :60].exp() + x[:, 20:80].sin()

def build():
    return program, (*(torch.randn(16, 8192) for _ in range(5)), torch.randn(64, 100))

def stored_and_walked_otherwise(image, scale, x):
    scaled = image * scale[:, None, None]  # returned, and summed by the same kernel, which walks it in rows
    square = torch.zeros(16, 16, device=x.device)
    square.diagonal().copy_(x)  # a part is written in place, and all of it is read
    return scaled, scaled.flatten(2).sum(2), square.exp()

def looked_up(queries, keys, cosines, place, picture, grid):
    turn = lambda x: x * cosines[place] + x.flip(-1)  # a row for each of 16 places, whatever the head and the batch
    return turn(queries), turn(keys), torch.nn.functional.grid_sample(picture, grid, align_corners=False)

def build_looked_up():
    rows, grid = torch.randn(2, 4, 16, 8), torch.rand(1, 2, 2, 2)
    return looked_up, (rows, rows.cos(), torch.randn(96, 8), torch.arange(16), torch.randn(1, 4, 32, 32), grid)

def build_other():
    return stored_and_walked_otherwise, (torch.randn(2, 16, 64, 64), torch.randn(16), torch.randn(16))
