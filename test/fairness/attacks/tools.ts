// Tools that a message of a chat names or brings, or that an agent has: very many, and large ones.
import type { Attack, AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { sized } from './values.ts'

/** As many as a message may name. */
const NAMED = 1_000

/** Says something with tools in a thread of its own, and waits for whatever comes of it. */
async function say(attacker: User, tools: readonly unknown[]): Promise<void> {
  const { text } = await attacker.expect(201, 'POST', '/api/threads', '{}')
  const { id: thread_id } = JSON.parse(text) as { id: string }
  const data = { thread_id, provider: 'builtin', model: 'echo', content: 'Hello', tools }
  await attacker.frame(JSON.stringify({ command: 'chat_message', request_id: 'r', data }))
}

/** Stores a workflow of so many inputs. */
function large(attacker: User, inputs: number): Promise<string> {
  const input = (at: number) => ({ id: `n${at}`, type: 'input.Any', data: { name: `i${at}`, value: 1 } })
  return attacker.store({ nodes: Array.from({ length: inputs }, (_, at) => input(at)), edges: [] })
}

/** A workflow with many inputs, again and again. It is refused, once all is looked at. */
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

/** As many as an agent may have. */
const OF_AGENT = 128

/** The run fails, with the size of the tools or for the want of a key. */
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
