// The parts of one node in one run that its firings use.
import type { FiringParticipant } from '../run/participant.ts'
import type { RunHost } from '../run/run-host.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import type { ReorderBuffer } from './reorder-buffer.ts'

export interface NodeFiringParts {
  readonly executor: FiringParticipant
  readonly host: RunHost
  readonly codeRunner: NodeCodeRunner
  readonly reorderBuffer: ReorderBuffer
}
