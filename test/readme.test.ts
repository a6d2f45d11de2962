// The README is short, its examples run as printed, and its links lead somewhere.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { builtinRegistry } from '../src/nodes/registry.ts'
import { loadExamples } from '../src/workflows/examples.ts'
import { codeBlock, codeBlocks, readReadme } from './helpers/documents.ts'
import { startServer } from './helpers/server.ts'

const run = promisify(execFile)
const readme = readReadme()
const [runGreeting, createShout] = codeBlocks(readme, 'sh').filter((block) => block.startsWith('curl'))

/** A copy with every generated id replaced, so that two runs compare. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/"(job|wf)_[0-9a-f]{32}"/g, '"$1"'))
}

describe('README', () => {
  test('has at most 8 KB', () => assert.ok(Buffer.byteLength(readme) <= 8 * 1024))

  test('starts with the two commands', () => {
    assert.match(codeBlock(readme, 'sh'), /^make start .*\nmake test /)
  })

  test('names no target that the Makefile lacks', () => {
    const makefile = readFileSync(new URL('../Makefile', import.meta.url), 'utf8')
    const named = new Set([...readme.matchAll(/(?:`|^)make ([a-z-]+)/gm)].map(([, target]) => target!))
    assert.ok(named.has('help'))
    for (const target of named) assert.match(makefile, new RegExp(`^${target}:`, 'm'))
  })

  test('the run by curl answers as printed', async () => {
    await using server = await startServer()
    const command = runGreeting!.replace('http://127.0.0.1:7777', server.url)
    const { stdout } = await run('sh', ['-c', command])
    const printed: unknown = JSON.parse(codeBlock(readme, 'json'))
    assert.deepEqual(withoutIds(JSON.parse(stdout)), withoutIds(printed))
  })

  test('the workflow of the reader is created, has no issues, and runs', async () => {
    await using server = await startServer()
    const { stdout } = await run('sh', ['-c', createShout!.replace('http://127.0.0.1:7777', server.url)])
    const { id, issues } = JSON.parse(stdout) as { id: string; issues: unknown[] }
    assert.deepEqual(issues, [])
    const [, body] = /with `(\{"params".*\})` runs it/.exec(readme)!
    const response = await fetch(`${server.url}/api/workflows/${id}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body!,
    })
    const { outputs } = (await response.json()) as { outputs: unknown }
    assert.deepEqual(outputs, { shout: 'HELLO' })
  })

  test('shows six examples that exist', () => {
    const names = [...readme.matchAll(/^\| `([a-z-]+)` \| /gm)].map(([, name]) => name!)
    assert.equal(names.length, 6)
    for (const name of names) assert.ok(loadExamples().has(name), name)
  })

  test('tells how many node types there are', () => {
    assert.match(readme, new RegExp(`\\| ${builtinRegistry.all().length} \\[node types\\]`))
  })

  test('links to files that exist', () => {
    const targets = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!)
    assert.ok(targets.length > 10)
    for (const target of targets) assert.ok(existsSync(new URL(`../${target}`, import.meta.url)), target)
  })
})
