// The README's examples run as they are printed, with the printed results.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { JobSnapshot } from '../generated/types.ts'
import { type Config, type Environment, readConfig } from '../src/config.ts'
import { startServer, until } from './helpers/server.ts'

const run = promisify(execFile)
const ROOT = new URL('..', import.meta.url)
const readme = readFileSync(new URL('README.md', ROOT), 'utf8')

/** The code blocks of one language, in order. */
function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1]!)
}

function curlBlocks(): string[] {
  return blocks('sh').filter((block) => block.startsWith('curl'))
}

/** A copy with every generated id replaced, so that two runs compare. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/"(job|wf)_[0-9a-f]{32}"/g, '"$1"'))
}

describe('README', () => {
  test('opens with the two commands', () => {
    assert.match(blocks('sh')[0]!, /^make start .*\nmake test /)
  })

  test('names no target that the Makefile lacks', () => {
    const makefile = readFileSync(new URL('../Makefile', import.meta.url), 'utf8')
    const named = new Set([...readme.matchAll(/(?:`|^)make ([a-z-]+)/gm)].map(([, target]) => target!))
    assert.ok(named.has('install'))
    for (const target of named) assert.match(makefile, new RegExp(`^${target}:`, 'm'))
  })

  test('the run by curl answers as printed', async () => {
    await using server = await startServer()
    const command = curlBlocks()[0]!.replace('http://127.0.0.1:7777', server.url)
    const { stdout } = await run('sh', ['-c', command])
    const printed: unknown = JSON.parse(blocks('json')[0]!)
    assert.deepEqual(withoutIds(JSON.parse(stdout)), withoutIds(printed))
  })

  test('the run over the socket prints what is printed', async () => {
    await using server = await startServer()
    const folder = mkdtempSync(join(tmpdir(), 'svc-readme-'))
    try {
      symlinkSync(new URL('../node_modules', import.meta.url), join(folder, 'node_modules'))
      const script = blocks('js')[0]!.replace('ws://127.0.0.1:7777', server.url.replace('http', 'ws'))
      writeFileSync(join(folder, 'run.mjs'), script)
      for (const time of ['the first', 'the second']) {
        const { stdout } = await run(process.execPath, ['run.mjs'], { cwd: folder, timeout: 20_000 })
        assert.equal(stdout, blocks('text')[0], `${time} time`)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('the workflow of one’s own is created and runs', async () => {
    await using server = await startServer()
    const { stdout } = await run('sh', ['-c', curlBlocks()[1]!.replace('http://127.0.0.1:7777', server.url)])
    const { id } = JSON.parse(stdout) as { id: string }
    const response = await fetch(`${server.url}/api/workflows/${id}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ params: { text: 'hello' } }),
    })
    const { outputs } = (await response.json()) as { outputs: unknown }
    assert.deepEqual(outputs, { shout: 'HELLO' })
  })

  test('the job that waits for an approval is completed by it', async () => {
    await using server = await startServer()
    const [create, start, resume] = curlBlocks()
      .slice(curlBlocks().findIndex((block) => block.includes('human.Approval')))
      .map((block) => block.replace('http://127.0.0.1:7777', server.url))
    const shell = async (command: string, env: Record<string, string>) =>
      JSON.parse((await run('sh', ['-c', command], { env: { ...process.env, ...env } })).stdout) as Record<
        string,
        unknown
      >
    const { id } = await shell(create!, {})
    const { job_id, status } = await shell(start!, { WORKFLOW: String(id) })
    assert.equal(status, 'suspended')
    await shell(resume!, { JOB: String(job_id) })
    const completed = async () => {
      const job = (await (await fetch(`${server.url}/api/jobs/${String(job_id)}`)).json()) as JobSnapshot
      return job.status === 'completed' && job.result
    }
    assert.deepEqual((await until('the result', completed)).outputs, { paid: 20 })
  })

  test('the token is minted, lets a page of another site in, and is revoked', async () => {
    await using server = await startServer()
    const [mint, use, revoke] = curlBlocks()
      .filter((block) => !block.includes('--interface'))
      .filter((block) => block.includes('/api/tokens') || block.includes('Bearer $TOKEN'))
      .map((block) => block.replace('http://127.0.0.1:7777', server.url))
    const shell = async (command: string, env: Record<string, string>) =>
      (await run('sh', ['-c', command.trim()], { env: { ...process.env, ...env } })).stdout
    const { id, token } = JSON.parse(await shell(mint!, {})) as { id: string; token: string }
    const env = { TOKEN: token, TOKEN_ID: id }
    const elsewhere = `${use!.trim()} -H 'Origin: http://elsewhere.example'`
    assert.deepEqual(JSON.parse(await shell(elsewhere, env)), [])
    assert.equal(await shell(revoke!, env), '')
    assert.deepEqual(JSON.parse(await shell(elsewhere, env)), { error: 'Remote access requires authentication' })
  })

  test('shows every example by its name and its purpose', async () => {
    const { loadExamples } = await import('../src/workflows/examples.ts')
    for (const { id, description } of loadExamples().values())
      assert.ok(readme.includes(`\n| \`${id}\` | ${description} | `), `the example ${id}`)
  })

  test('names every setting', () => {
    const sources = ['config.ts', 'config/access.ts', 'config/models.ts'].map((path) =>
      readFileSync(new URL(`../src/${path}`, import.meta.url), 'utf8'),
    )
    // SVC_ENV belongs to planned features.
    const later = new Set(["'SVC_ENV'"])
    for (const name of sources.join().match(/'(?:SVC|IDP)_[A-Z0-9_]+'/g) ?? [])
      if (!later.has(name)) assert.ok(readme.includes(`\`${name.slice(1, -1)}\``), `the setting ${name}`)
  })

  test('the preflight answers as printed, and the upload can be read', async () => {
    await using server = await startServer()
    const [preflight, upload] = curlBlocks().filter((block) => block.includes('/api/sdk/v1/'))
    const answer = async (block: string) => {
      const { stdout } = await run('sh', ['-c', block.replace('http://127.0.0.1:7777', server.url)], { cwd: ROOT })
      return JSON.parse(stdout)
    }
    const printed = blocks('json').find((block) => block.includes('"issues"'))!
    assert.deepEqual(await answer(preflight!), JSON.parse(printed))
    const { uri, name } = await answer(upload!)
    assert.equal(name, 'README.md')
    assert.equal(await (await fetch(server.url + uri)).text(), readme)
  })

  test('tells the defaults of who may call', () => {
    const config = (environment: Environment) => readConfig(environment, { host: '127.0.0.1', port: 7777 })
    const provider = { IDP_URL: 'https://id.example.com', IDP_KEY: 'the-key-of-this-server' }
    const rows = [...whoMayCall().matchAll(/^\| `SVC_([A-Z_]+)` \| ([^|]+) \| /gm)]
    assert.equal(rows.length, 8)
    for (const [, name, told] of rows) {
      const key = name!.toLowerCase() as keyof Config
      const [local, with_provider] = [config({})[key], config(provider)[key]]
      if (told === 'none')
        for (const value of [local, with_provider]) assert.ok(value === null || value.toString() === '')
      else
        assert.deepEqual([local, with_provider, told], [true, false, 'on in Local mode, off with an identity provider'])
    }
  })

  test('shows settings of who may call that are taken without a warning', () => {
    const shown = [...whoMayCall().matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) =>
      Object.fromEntries([...block!.matchAll(/((?:SVC|IDP)_[A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value])),
    )
    assert.ok(shown.length >= 3)
    for (const environment of shown)
      assert.deepEqual(
        readConfig(environment, { host: '0.0.0.0', port: 7777 }).warnings,
        [],
        JSON.stringify(environment),
      )
  })
})

/** The section of that name, without the sections after it. */
function whoMayCall(): string {
  return /\n## Who may call\n([\s\S]*?)\n## /.exec(readme)![1]!
}
