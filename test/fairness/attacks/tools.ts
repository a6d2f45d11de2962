// Very many and large tools that a chat message names or contains, or that an agent has.
import type { Attack, AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { sized } from './values.ts'

/** The most tools that a message may name. */
const NAMED = 1_000

/** Sends a message with tools to a new thread, and waits for the outcome. */
async function say(attacker: User, tools: readonly unknown[]): Promise<void> {
  const { text } = await attacker.expect(201, 'POST', '/api/threads', '{}')
  const { id: thread_id } = JSON.parse(text) as { id: string }
  const data = { thread_id, provider: 'builtin', model: 'echo', content: 'Hello', tools }
  await attacker.frame(JSON.stringify({ command: 'chat_message', request_id: 'r', data }))
}

/** Stores a workflow with so many inputs. */
function large(attacker: User, inputs: number): Promise<string> {
  const input = (at: number) => ({ id: `n${at}`, type: 'input.Any', data: { name: `i${at}`, value: 1 } })
  return attacker.store({ nodes: Array.from({ length: inputs }, (_, at) => input(at)), edges: [] })
}

/** Names a workflow with many inputs again and again. The message is refused after all of it is checked. */
const named: AttackOf = (share): Attack => {
  const inputs = sized(20_000, share)
  let id = ''
  return {
    name: `naming a tool of ${inputs} arguments ${NAMED} times`,
    async prepare(attacker) {
      id = await large(attacker, inputs)
    },
    strike: (attacker) => say(attacker, Array(NAMED).fill(`workflow/${id}`)),
  }
}

const brought: AttackOf = (share) => {
  const count = sized(100, share)
  const parameters = (tool: number) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`name${tool}_${at}`, { type: 'string' }])),
  })
  const tools = Array.from({ length: count }, (_, at) => ({
    type: 'function',
    function: { name: `tool${at}`, parameters: parameters(at) },
  }))
  return { name: `${count} tools of 4,000 arguments each`, strike: (attacker) => say(attacker, tools) }
}

/** The most tools of an agent. */
const OF_AGENT = 128

/** The run fails because of the tools' size, or a missing key. */
const agents: AttackOf = (share) => {
  const inputs = sized(20_000, share)
  let id = ''
  return {
    name: `an agent with ${OF_AGENT} tools of ${inputs} arguments`,
    async prepare(attacker) {
      const own = {
        model: 'openai/gpt-4o-mini',
        prompt: 'Hello',
        tools: Array(OF_AGENT).fill(await large(attacker, inputs)),
      }
      id = await attacker.store({ nodes: [{ id: 'agent', type: 'agent.Run', data: own }], edges: [] })
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}'),
  }
}

export const tools: readonly AttackOf[] = [named, brought, agents]
