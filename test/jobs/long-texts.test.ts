// The JSON text of a long output text is made in pieces, for a single value and for an item of a stream.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_TEXT_LENGTH } from '../../src/shared/incremental-json.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { history, outputs, startGated, submit } from './kit.ts'

/** A text without characters that JSON escapes. */
const text = 'some text '.repeat(100_000)

/** The length of the longest text that `JSON.stringify` makes meanwhile. */
async function longestWritten(work: () => Promise<void>): Promise<number> {
  const { stringify } = JSON
  let longest = 0
  JSON.stringify = ((...given: Parameters<typeof stringify>) => {
    const written: string | undefined = stringify(...given)
    longest = Math.max(longest, written?.length ?? 0)
    return written
  }) as typeof stringify
  try {
    await work()
  } finally {
    JSON.stringify = stringify
  }
  return longest
}

for (const stream of [false, true])
  test(`a long text is written in pieces as ${stream ? 'an item of a stream' : 'a value'}`, async () => {
    await using server = await startGated()
    const of = graph([node('in', 'input.Any', { name: 'in', stream }), sink('out')], ['in.output->out.value'])
    const job = submit(server, { graph: of, params: { in: stream ? [text] : text } })
    const longest = await longestWritten(async () => job.settled())
    assert.ok(longest < LONG_TEXT_LENGTH + 1_000, `${longest} characters at once`)
    const { out } = outputs(job.row) as { out: unknown }
    assert.ok(stream ? Array.isArray(out) && out[0] === text : out === text)
    const told = (await history(server, job.row)).find(({ type }) => type === 'output_update')
    assert.ok((told as { value?: unknown }).value === text)
  })
