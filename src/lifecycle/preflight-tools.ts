// The tools of an agent as a preflight looks at them: what each one is, and which entries are none.
import type { NodeFacts, NodeRegistry } from '../engine/node-type.ts'
import type { ToolTarget } from '../engine/services.ts'
import { knownTypes } from '../engine/suggest.ts'
import { MOST_TOOLS, readEntries, TOO_MANY, TOOLS } from '../nodes/agent-entries.ts'
import type { Steps } from '../time-slices.ts'

export const AGENT = 'agent.Run'

interface Tools {
  readonly targets: readonly ToolTarget[]
  /** Why entries are none. */
  readonly problems: readonly string[]
}

/** Null where they show in the run alone. Whether workflows are there is not looked at. A step is one tool, which may have much data. */
export function* toolsSteps({ data, isConnected }: NodeFacts, registry: NodeRegistry): Steps<Tools | null> {
  const entries = data[TOOLS]
  if (isConnected(TOOLS) || !Array.isArray(entries)) return null
  const targets: ToolTarget[] = []
  const problems: string[] = entries.length > MOST_TOOLS ? [TOO_MANY] : []
  for (const read of readEntries(entries.slice(0, MOST_TOOLS), knownTypes(registry))) {
    if ('target' in read) targets.push(read.target)
    else problems.push(read.error.message)
    yield
  }
  return { targets, problems }
}
