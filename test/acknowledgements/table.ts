// All rows by the acknowledged operation or command, and what a server needs to answer them.
import { startUpstream, type Upstream } from '../helpers/upstream.ts'
import { COMMANDS } from './commands.ts'
import { OPERATIONS } from './operations.ts'
import type { Nothing, Row } from './row.ts'

export const TABLE: Readonly<Record<string, Row | readonly Row[] | Nothing>> = { ...OPERATIONS, ...COMMANDS }

export const ROWS = Object.entries(TABLE).flatMap(([name, entry]) => {
  if ('nothing' in entry) return []
  return [entry].flat().map((row, at): [name: string, row: Row] => [at === 0 ? name : `${name} (${at + 1})`, row])
})

export const PREVIEW = { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }

/** A model server that calls the tool of a chat once. */
export function startToolModel(): Promise<Upstream> {
  const calls = [{ id: 'call-1', name: 'weather', arguments: '{}' }]
  return startUpstream({
    answer: ({ json }) => (json.messages.length === 1 ? { text: null, tool_calls: calls } : {}),
  })
}

export function environmentOf({ origin }: Upstream): Record<string, string> {
  const models = { OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: 'sk-of-a-row' }
  return { ...PREVIEW, ...models, SVC_WS_RATE_LIMIT_DISABLED: '1' }
}
