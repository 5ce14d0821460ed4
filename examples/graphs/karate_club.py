"""
A club that fell apart
======================

Zachary watched a karate club of 34 people for two years, until it split in two. Who would go where can be
seen in who was friends with whom: the split with the largest modularity, a quadratic objective over
signs.
"""

# %%
# The 78 friendships come with networkx. Modularity counts the friendships within the two parts, less what
# is expected of people who have that many friends: x'(d d'/2m - A)x is to be small.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import dcra

club = nx.karate_club_graph()
A = nx.to_numpy_array(club, weight=None)
degree, edges = A.sum(axis=0), A.sum() / 2
result = dcra.solve(dcra.Problem(quadratic=np.outer(degree, degree) / (2 * edges) - A), starts=8, seed=0)
side = result.x * result.x[0]  # the instructor, number 0, is on side +1

# %%
# Modularity itself, and who ended up elsewhere than the split predicts.

modularity = -result.fun / (4 * edges)
went = np.array([1 if club.nodes[v]["club"] == "Mr. Hi" else -1 for v in club])
others = np.flatnonzero(side != went)
print(f"modularity {modularity:.4f}, status {result.status}; predicted wrongly: {others.tolist()}")

# %%
# Colours are the computed sides, frames those who went another way.

figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
place = nx.spring_layout(club, seed=4)
crossing = [(u, v) for u, v in club.edges if side[u] != side[v]]
inside = [(u, v) for u, v in club.edges if side[u] == side[v]]
nx.draw_networkx_edges(club, place, inside, ax=axis, edge_color="#999999")
nx.draw_networkx_edges(club, place, crossing, ax=axis, edge_color="#D55E00", style="dashed")
colours = np.where(side > 0, "#0072B2", "#E69F00")
frames = ["#D1242F" if v in others else "white" for v in club]
nx.draw_networkx_nodes(
    club, place, ax=axis, node_color=colours, edgecolors=frames, linewidths=2, node_size=360
)
nx.draw_networkx_labels(club, place, ax=axis, font_size=8, font_color="white")
axis.set_title(f"{len(crossing)} of {len(club.edges)} friendships cross the split")
axis.axis("off")
plt.show()
