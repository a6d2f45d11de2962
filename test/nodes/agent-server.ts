// The service as a process, with a scripted model and tools that leave traces: each turn and each tool call writes a line to `AGENT_LOG`. A
// tool or a turn with `hang` in its name hangs the first time.
import { appendFileSync, readFileSync } from 'node:fs'
import { readConfig } from '../../src/config.ts'
import { createServer } from '../../src/server.ts'
import { output, testType, value, withTypes } from '../engine/kit.ts'
import { agentProvider, type Move, toolTexts } from '../helpers/agent-provider.ts'

const log = process.env.AGENT_LOG!

/** Logs a turn that fails; the log counts these turns. The third turn hangs. */
async function failing(): Promise<void> {
  appendFileSync(log, 'asked\n')
  if (linesOf('asked') !== 3) return
  appendFileSync(log, 'third asked\n')
  await new Promise(() => {})
}

function linesOf(line: string): number {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((one) => one === line).length
}

/** Writes a line, and hangs if the line is new. */
async function traced(line: string): Promise<void> {
  appendFileSync(log, `${line}\n`)
  if (line.includes('hang') && linesOf(line) === 1) await new Promise(() => {})
}

const tool = (node_type: string, retry_safe: boolean) =>
  testType(node_type, {
    properties: [value],
    outputs: [output],
    retry_safe,
    async run({ value: name }) {
      await traced(String(name))
      return { output: `${name} done` }
    },
  })

const mark = (name: string, of = 'test_Mark') => ({ name: of, args: { value: name } })

const TASKS: Readonly<Record<string, (given: number) => Move>> = {
  tools: (given) =>
    [
      { say: ['One.'], calls: [mark('a'), mark('b')] },
      {},
      { say: ['Two.'], calls: [mark('c hang'), mark('d hang', 'test_Once')] },
      {},
      { say: ['All', ' done.'] },
    ][given]!,
  costly: () => ({ calls: [mark('a')], fails: new Error('down'), waits: { before: 0, for: failing } }),
  words: () => ({
    say: ['The', ' answer', 'lost'],
    waits: { before: 2, for: () => traced('turn words 0 hang') },
  }),
}

const provider = agentProvider((request) => {
  const task = String(request.messages.find(({ role }) => role === 'user')!.content)
  const given = toolTexts(request).length
  appendFileSync(log, `turn ${task} ${given}: ${request.messages.map(({ role }) => role).join(' ')}\n`)
  // The model is called again, with the text that was published before.
  if (task === 'words' && request.messages.length > 1) return { say: [' is', ' four.'] }
  return TASKS[task]!(given)
})

const registry = withTypes(tool('test.Mark', true), tool('test.Once', false))
const config = readConfig(process.env, { host: '127.0.0.1', port: 0 })
const server = await createServer(config, { providers: [provider], registry })
process.stdout.write(`listens on ${server.url}\n`)
