// `svc run` shows no secret of the environment that a model server repeats: not in outputs, events, messages and errors, and not in stored vectors.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { graphOf } from '../cli/kit.ts'
import { svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { startUpstream, type Upstream } from '../helpers/upstream.ts'
import { cellsOf } from '../redaction/leaks-kit.ts'

const OTHER = 'planted-other-operator-79304711'
let folder: string
let upstream: Upstream
before(async () => {
  folder = temporaryFolder()
  upstream = await startUpstream({
    models: ['m'],
    answer: ({ raw }) =>
      raw.includes('please fail')
        ? { status: 400, error: { message: `wrong key ${OTHER}` } }
        : { text: ['the other key is ', ...(OTHER.match(/.{1,9}/g) ?? []), '!'] },
  })
})
after(async () => {
  await upstream[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** The text is output in pieces and whole, logged, and stored as a vector. */
async function run(prompt: string, ...more: string[]) {
  const code = 'console.log(inputs.text); return {}'
  const graph = graphOf(
    [
      { id: 'chat', type: 'chat.Complete', data: { model: 'up/m', prompt } },
      { id: 'pieces', type: 'output.Output', data: { name: 'pieces' } },
      { id: 'all', type: 'control.Collect', data: {} },
      { id: 'join', type: 'text.Join', data: { separator: '' } },
      { id: 'log', type: 'code.JavaScript', data: { code } },
      { id: 'whole', type: 'output.Output', data: { name: 'whole' } },
      { id: 'keep', type: 'vector.Index', data: { index: 'i', vectors: [[1, 0]] } },
    ],
    [
      'chat.text>pieces.value',
      'chat.text>all.item',
      'all.list>join.list',
      'join.output>log.text',
      'join.output>whole.value',
      'join.output>keep.texts',
    ],
  )
  const path = join(folder, 'graph.json')
  writeFileSync(path, JSON.stringify(graph))
  const ended = await svc(['run', path, ...more], {
    SVC_MODEL_SERVERS: `up=${upstream.base_url}`,
    SVC_PROBE_LOCAL_MODELS: 'off',
    OTHER_API_KEY: OTHER,
  })
  for (const text of [ended.stdout, ended.stderr]) assert.ok(!text.includes(OTHER.slice(0, 18)), text)
  return ended
}

const TOLD = 'the other key is [redacted]!'
const joined = (texts: readonly unknown[]) => texts.join('')

describe('svc run with a model server that repeats a secret of the environment', () => {
  test('shows it in no output and message', async () => {
    const { code, stdout, stderr } = await run('hello')
    assert.equal(code, 0, stderr)
    const { pieces, whole } = JSON.parse(stdout)
    assert.deepEqual([joined(pieces), whole], [TOLD, TOLD])
    assert.ok(stderr.includes(`: ${TOLD}\n`), stderr)
  })

  test('shows it in no event', async () => {
    const { code, stdout, stderr } = await run('hello', '--json-events')
    assert.equal(code, 0, stderr)
    assert.equal(joined(JSON.parse(stdout).pieces), TOLD)
    const frames = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const valuesOf = (name: string) =>
      frames
        .filter(({ type, output_name }) => type === 'output_update' && output_name === name)
        .map(({ value }) => value)
    assert.deepEqual([joined(valuesOf('pieces')), joined(valuesOf('whole'))], [TOLD, TOLD])
    assert.deepEqual(
      frames.filter(({ type }) => type === 'log_update').map(({ content }) => content),
      [TOLD],
    )
    const chunks = frames.filter(({ type, node_id }) => type === 'chunk' && node_id === 'chat')
    assert.equal(joined(chunks.map(({ content }) => content)), TOLD)
  })

  for (const events of [[], ['--json-events']])
    test(`shows it in no error ${events.join()}`, async () => {
      const { code, stderr } = await run('please fail', ...events)
      assert.equal(code, 1)
      assert.match(stderr, /wrong key \[redacted\]/)
    })

  test('stores it in no vector', async () => {
    const data = join(folder, 'data')
    const { code, stderr } = await run('hello', '--data', data)
    assert.equal(code, 0, stderr)
    const stored = [...cellsOf(data)].filter(([place]) => place.includes('vector_entry.text'))
    assert.deepEqual(
      stored.map(([, text]) => text),
      [TOLD],
    )
  })
})
