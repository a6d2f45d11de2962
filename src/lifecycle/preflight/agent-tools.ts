// Reads the tools of an agent for a preflight: the target of each tool, and the invalid entries.

import { createNodeTypeLookup } from '../../engine/node-api/did-you-mean.ts'
import type { NodeFacts } from '../../engine/node-api/node-facts.ts'
import type { NodeRegistry } from '../../engine/node-api/node-type.ts'
import type { ToolTarget } from '../../engine/node-api/services/tools.ts'
import { MOST_TOOLS, parseToolEntries, TOO_MANY_TOOLS, TOOLS_PROPERTY } from '../../nodes/agent/tool-entries.ts'
import type { Steps } from '../../shared/time-slices.ts'

export const AGENT_NODE_TYPE = 'agent.Run'

interface AgentTools {
  readonly targets: readonly ToolTarget[]
  /** Why entries are invalid. */
  readonly problems: readonly string[]
}

/**
 * Returns null if the tools are known only during the run. It does not check whether workflows exist. Each step reads one tool, which may
 * have much data.
 */
export function* readAgentToolsSteps(
  { data, isConnected }: NodeFacts,
  registry: NodeRegistry,
): Steps<AgentTools | null> {
  const entries = data[TOOLS_PROPERTY]
  if (isConnected(TOOLS_PROPERTY) || !Array.isArray(entries)) return null
  const targets: ToolTarget[] = []
  const problems: string[] = entries.length > MOST_TOOLS ? [TOO_MANY_TOOLS] : []
  for (const read of parseToolEntries(entries.slice(0, MOST_TOOLS), createNodeTypeLookup(registry))) {
    if ('target' in read) targets.push(read.target)
    else problems.push(read.error.message)
    yield
  }
  return { targets, problems }
}
