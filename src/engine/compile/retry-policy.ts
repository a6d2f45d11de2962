// Compiles `retry` and `timeout_seconds`, which every node may have.
import { createIssue, type DraftNode } from './draft-nodes.ts'
import type { GraphIssueList } from './graph-issues.ts'
import type { RetryPolicy } from './plan.ts'

/** Properties that the engine itself reads for every node type. */
export const COMMON_PROPERTIES: readonly string[] = ['retry', 'timeout_seconds']

const MAX_ATTEMPTS = 100
const DEFAULT_BACKOFF_MS = 1000
/** One day, in seconds. */
const MAX_TIMEOUT_SECONDS = 86_400
export const MAX_BACKOFF_MS = 300_000

const RETRY_FORMAT = `takes {"attempts": 1 to ${MAX_ATTEMPTS}, "backoff_ms": 0 to ${MAX_BACKOFF_MS}}`

/** The value of a common property. If the type has a property of that name, the value belongs to the type. */
function readCommonProperty(node: DraftNode, name: string): unknown {
  const own = node.info.properties.has(name) || node.dynamic.has(name)
  return own || !Object.hasOwn(node.data, name) ? null : (node.data[name] ?? null)
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && value >= least && value <= most
}

function parseRetry(given: unknown): { attempts: number; backoff_ms: number } | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null
  const { attempts, backoff_ms = DEFAULT_BACKOFF_MS, ...rest } = given as Record<string, unknown>
  if (!isWithin(attempts, 1, MAX_ATTEMPTS) || !Number.isInteger(attempts)) return null
  if (!isWithin(backoff_ms, 0, MAX_BACKOFF_MS) || Object.keys(rest).length > 0) return null
  return { attempts, backoff_ms }
}

/** Null if a node has neither property: one attempt without a limit. Invalid values are reported. */
export function compileRetryPolicy(node: DraftNode, issues: GraphIssueList): RetryPolicy | null {
  const given = { retry: readCommonProperty(node, 'retry'), timeout: readCommonProperty(node, 'timeout_seconds') }
  if (given.retry === null && given.timeout === null) return null
  const report = (pin: string, text: string) => {
    issues.push(createIssue('type_mismatch', `"${pin}" of node "${node.id}" ${text}.`, node.id, pin))
    return null
  }
  if (!node.type.run || node.type.role) {
    const pin = given.retry === null ? 'timeout_seconds' : 'retry'
    return report(pin, `is not supported: firings of ${node.type.node_type} are neither retried nor timed`)
  }
  const retry = given.retry === null ? { attempts: 1, backoff_ms: DEFAULT_BACKOFF_MS } : parseRetry(given.retry)
  if (retry === null) return report('retry', RETRY_FORMAT)
  if (given.timeout === null) return { ...retry, timeout_ms: null }
  if (!isWithin(given.timeout, 0.001, MAX_TIMEOUT_SECONDS)) {
    return report('timeout_seconds', `takes a number of seconds from 0.001 to ${MAX_TIMEOUT_SECONDS}`)
  }
  return { ...retry, timeout_ms: given.timeout * 1000 }
}
