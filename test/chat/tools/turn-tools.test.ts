// The limit of the total size of a message's tools.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatTool } from '../../../generated/types.ts'
import type { ServerToolResolver } from '../../../src/chat/tools/server-tools.ts'
import { resolveTurnToolsSteps } from '../../../src/chat/tools/turn-tools.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { coded } from '../../jobs/kit.ts'

const owner = { user_id: 'ada', workspace_id: null }
const redactor = new Redactor([])

const box: ServerToolResolver = {
  toolSteps: () => assert.fail('no tool of the server was named'),
}

function tool(name: string, length: number): ChatTool {
  return { type: 'function', function: { name, description: 'x'.repeat(length), parameters: {} } }
}

test('tools that are too large together are refused', () => {
  const tools = (...lengths: number[]) => {
    const chosen = lengths.map((length, at) => tool(`tool${at}`, length))
    return runToCompletion(resolveTurnToolsSteps({ box, owner, redactor }, chosen, '/data/tools'))
  }
  assert.equal(tools(8_000_000, 8_000_000).definitions.length, 2)
  assert.throws(() => tools(8_000_000, 8_000_000, 1_000_000), coded('REQUEST_TOO_LARGE'))
})
