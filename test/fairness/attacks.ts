// All attacks by family. `make bench ONLY=fairness` runs each of them in its
// full size, then the reported ones at once, and then all at once.
import { accepted, folders } from './attacks/accepted.ts'
import { answers } from './attacks/answers.ts'
import { bodies, jsonFrame, nils, unknownKeys } from './attacks/bodies.ts'
import { files } from './attacks/files.ts'
import { followers } from './attacks/followers.ts'
import { frames } from './attacks/frames.ts'
import { chains, graphs, runs, tangles } from './attacks/graphs.ts'
import { lists } from './attacks/lists.ts'
import { many } from './attacks/many.ts'
import { nodes } from './attacks/nodes.ts'
import { readings } from './attacks/reading.ts'
import { remembered } from './attacks/remembered.ts'
import { tools } from './attacks/tools.ts'
import { values } from './attacks/values.ts'
import { vectors } from './attacks/vectors.ts'
import { pdfs, workers } from './attacks/workers.ts'
import type { AttackOf } from './kit.ts'

export const FAMILIES: Readonly<Record<string, readonly AttackOf[]>> = {
  accepted,
  answers,
  bodies,
  files,
  followers,
  frames,
  graphs,
  lists,
  many,
  nodes,
  readings,
  remembered,
  tools,
  values,
  vectors,
  workers,
}

/** The attacks that were reported first. Another user's answers have limits under all of these at once. */
export const REPORTED: readonly AttackOf[] = [
  unknownKeys,
  nils,
  jsonFrame,
  chains,
  tangles,
  runs,
  ...nodes,
  pdfs,
  folders,
]
