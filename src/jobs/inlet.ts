// Where a job takes what is sent to it, whether it runs already or waits for its turn. What it takes it remembers.
import type { PushResult } from '../engine/execution.ts'
import type { Entry } from './entry.ts'

export interface Inlet {
  /** `full`: no more is kept at present. */
  pushInput(name: string, value: unknown, handle?: string): PushResult
  endInput(name: string, handle?: string): PushResult
  /** The names that were applied, and from which firing of the node on they hold; null: no such node. */
  updateProperties(node_id: string, properties: Record<string, unknown>): { applied: string[]; from: number } | null
}

/** An inlet that keeps what `taking` takes. */
export function remembering(taking: Inlet, remember: (entry: Entry) => void): Inlet {
  const keep = (result: PushResult, entry: Entry): PushResult => {
    if (result === 'ok') remember(entry)
    return result
  }
  return {
    pushInput: (name, value, handle) => keep(taking.pushInput(name, value, handle), ['push', name, value]),
    endInput: (name, handle) => keep(taking.endInput(name, handle), ['close', name]),
    updateProperties(node_id, properties) {
      const changed = taking.updateProperties(node_id, properties)
      if (changed && changed.applied.length > 0) {
        const values = Object.fromEntries(changed.applied.map((name) => [name, properties[name]]))
        remember(['update', { node_id, from: changed.from, properties: values }])
      }
      return changed
    },
  }
}
