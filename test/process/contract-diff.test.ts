// `svc contract diff` from a script's view: its output and its exit codes.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { formatUsage } from '../../src/cli/help.ts'
import type { Difference } from '../../src/contract/diff/differences.ts'
import type { JsonMap } from '../../src/contract/json.ts'
import { readPublication } from '../../src/contract/publication-reader.ts'
import { at, FOLDER, operation } from '../contract-diff/kit.ts'
import { indexed, written } from '../contract-diff/written.ts'
import { svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'

let folder = ''
before(() => {
  folder = temporaryFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** Copies the publication with another OpenAPI document, and updates the files that depend on it. */
function copied(name: string, edit: (openapi: JsonMap) => void): string {
  return written(join(folder, name), ({ openapi }) => edit(openapi))
}

describe('svc contract diff', () => {
  test('ends with 0 where nothing differs', async () => {
    const { code, stdout, stderr } = await svc(['contract', 'diff', FOLDER, join(FOLDER, 'index.json')])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^\d+\.\d+\.\d+ → \d+\.\d+\.\d+: no difference\n$/)
  })

  test('ends with 0, 2 or 3 as the worst difference says', async () => {
    const additive = copied('additive', (openapi) => {
      at(openapi, 'paths')['/api/new'] = { get: { operationId: 'listNews', responses: {} } }
    })
    const risky = copied('risky', (openapi) => {
      operation(openapi, '/api/jobs', 'get').tags = ['others']
    })
    for (const [old, next, expected, line] of [
      [
        FOLDER,
        additive,
        0,
        /^additive GET \/api\/new \(listNews\) is new \(operation-added\)\n.*: 1 difference: 1 additive\n$/,
      ],
      [
        FOLDER,
        risky,
        2,
        /^risky GET \/api\/jobs \(listJobs\) has other tags \(tag-changed\)\n.*: 1 difference: 1 risky\n$/,
      ],
      [
        additive,
        FOLDER,
        3,
        /^breaking GET \/api\/new \(listNews\) is gone \(operation-removed\)\n.*: 1 difference: 1 breaking\n$/,
      ],
    ] as const) {
      const { code, stdout } = await svc(['contract', 'diff', old, next])
      assert.equal(code, expected)
      assert.match(stdout, line)
    }
    const { code, stdout } = await svc(['contract', 'diff', additive, risky, '--json'])
    const told = JSON.parse(stdout) as { verdict: string; old: { digest: string }; differences: Difference[] }
    assert.deepEqual([code, told.verdict, told.old.digest], [3, 'breaking', readPublication(additive).digest])
    assert.deepEqual(
      told.differences.map(({ verdict, rule }) => [verdict, rule]),
      [
        ['breaking', 'operation-removed'],
        ['risky', 'tag-changed'],
      ],
    )
  })

  test('ends with 64 where it is used wrongly', async () => {
    for (const args of [
      [],
      ['diff'],
      ['diff', FOLDER],
      ['diff', FOLDER, FOLDER, FOLDER],
      ['compare', FOLDER, FOLDER],
    ]) {
      const { code, stdout, stderr } = await svc(['contract', ...args])
      assert.deepEqual([code, stdout], [64, ''], args.join(' '))
      assert.ok(stderr.endsWith(`${formatUsage('contract')}\n`), stderr)
    }
    assert.equal((await svc(['contract', 'diff', FOLDER, FOLDER, '--colour'])).code, 64)
  })

  test('ends with 64 where there is no publication', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const [path, why] of [
      [join(folder, 'nowhere'), 'there is no such file or folder'],
      [join(folder, 'nowhere.json'), 'there is no such file or folder'],
      [join(file, 'index.json'), 'a part of the path is a file, not a folder'],
      [folder, 'index.json is missing'],
    ] as const) {
      const { code, stdout, stderr } = await svc(['contract', 'diff', FOLDER, path])
      assert.deepEqual([code, stdout], [64, ''])
      assert.equal(stderr, `svc: ${path} is not a publication of the contract: ${why}\n`)
    }
  })

  test('ends with 64 where the parts of a publication contradict each other', async () => {
    const path = copied('other', () => {})
    const schema = JSON.parse(readFileSync(join(path, 'PreflightRequest.json'), 'utf8')) as { required: string[] }
    schema.required.push('inputs')
    writeFileSync(join(path, 'PreflightRequest.json'), JSON.stringify(schema))
    indexed(path)
    const { code, stdout, stderr } = await svc(['contract', 'diff', FOLDER, path])
    assert.deepEqual([code, stdout], [64, ''])
    assert.match(
      stderr,
      /^svc: .*other contradicts itself: PreflightRequest\.json is not the schema PreflightRequest of openapi\.json/,
    )
  })
})
