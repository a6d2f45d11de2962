// Reads the inputs of one node in lock step, counts its position in the streams around it, and builds the inputs of its firings.

import type { PlanNode } from '../../compile/plan.ts'
import type { NodeUpdate } from '../../durability/journal.ts'
import type { InputValues } from '../../node-api/firing-forms.ts'
import { NodePropertyValues } from '../node-property-values.ts'
import type { InboxHost } from '../streams/inbox-flow-control.ts'
import { InputJoin } from '../streams/input-join.ts'
import type { FailureToken, StreamEndToken } from '../streams/tokens.ts'
import { gatherInputs } from './inputs.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'

export class InputReader {
  readonly join: InputJoin
  readonly propertyValues: NodePropertyValues
  readonly #node: PlanNode
  readonly #codeRunner: NodeCodeRunner
  haveEnded = false

  constructor(node: PlanNode, edges: InboxHost, codeRunner: NodeCodeRunner, updates: readonly NodeUpdate[]) {
    this.#node = node
    this.#codeRunner = codeRunner
    this.join = new InputJoin(node, edges)
    this.propertyValues = new NodePropertyValues(node, updates)
  }

  /** Reads the next item of the deepest streams. */
  advance(): void {
    this.join.advance()
    this.#codeRunner.position?.nextItem()
    if (this.#node.readDepth === 0) this.haveEnded = true
  }

  /** Reads an end mark. `endStream` of the position follows when its consequences were sent. */
  readEnd({ level }: StreamEndToken): void {
    this.join.passEnd(level)
    if (level === 1) this.haveEnded = true
  }

  /** The inputs at the current path, a failure instead of them, or null if there is no firing or the run has failed. */
  gather(): InputValues | FailureToken | null {
    const own = this.propertyValues.takeNext()
    try {
      return gatherInputs(this.#node, this.join, own)
    } catch (error) {
      return this.#codeRunner.fail(error)
    }
  }
}
