// All attacks, by family. `make bench ONLY=fairness` makes each of them in its full size, and then all at once.
import { accepted } from './attacks/accepted.ts'
import { bodies } from './attacks/bodies.ts'
import { frames } from './attacks/frames.ts'
import { graphs } from './attacks/graphs.ts'
import { lists } from './attacks/lists.ts'
import { nodes } from './attacks/nodes.ts'
import { readings } from './attacks/reading.ts'
import { remembered } from './attacks/remembered.ts'
import { values } from './attacks/values.ts'
import { workers } from './attacks/workers.ts'
import type { AttackOf } from './kit.ts'

export const FAMILIES: Readonly<Record<string, readonly AttackOf[]>> = {
  accepted,
  bodies,
  frames,
  graphs,
  lists,
  nodes,
  readings,
  remembered,
  values,
  workers,
}
