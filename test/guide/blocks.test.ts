// The guide's requests run as printed, with the printed results.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { JobSnapshot } from '../../generated/types.ts'
import { codeBlock, codeBlocks, readGuidePage, readReadme, readSection } from '../helpers/documents.ts'
import { inFolder } from '../helpers/folder.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const curlBlocks = (page: string) => codeBlocks(page, 'sh').filter((block) => block.startsWith('curl'))

/** Runs a printed command against the server, with these variables, in the folder `cwd`. */
async function shell(
  server: TestServer,
  command: string,
  env: Record<string, string> = {},
  cwd = ROOT,
): Promise<string> {
  const here = command.trim().replaceAll('http://127.0.0.1:7777', server.url)
  return (await run('sh', ['-c', here], { cwd, env: { ...process.env, ...env } })).stdout
}

async function shellJson<Answer = Record<string, unknown>>(...given: Parameters<typeof shell>): Promise<Answer> {
  return JSON.parse(await shell(...given)) as Answer
}

describe('the guide, over HTTP', () => {
  test(
    'the run over the socket prints what the page shows, each time',
    inFolder(async (folder) => {
      await using server = await startServer()
      const page = readGuidePage('workflows')
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      const script = codeBlock(page, 'js').replace('ws://127.0.0.1:7777', server.url.replace('http', 'ws'))
      writeFileSync(join(folder, 'run.mjs'), script)
      for (const time of ['the first', 'the second']) {
        const { stdout } = await run(process.execPath, ['run.mjs'], { cwd: folder, timeout: 20_000 })
        assert.equal(stdout, codeBlock(page, 'text'), `${time} time`)
      }
    }),
  )

  test(
    'workflows: a run in the background, a stored workflow, an update with its revision, and events of a job',
    inFolder(async (folder) => {
      await using server = await startServer()
      const [, background, create, runStored, update, events] = curlBlocks(readGuidePage('workflows'))
      const { status, outputs, job_id } = await shellJson(server, background!)
      assert.ok(['accepted', 'queued'].includes(String(status)))
      assert.deepEqual(outputs, {})
      const { id } = await shellJson(server, create!)
      assert.deepEqual((await shellJson(server, runStored!, { WORKFLOW: String(id) })).outputs, { shout: 'HELLO' })
      const [, body] = /-d '(\{[\s\S]*\})'/.exec(create!)!
      writeFileSync(join(folder, 'shout.json'), body!)
      const changed = await shellJson(server, update!, { WORKFLOW: String(id) }, folder)
      assert.equal(changed.id, id)
      const history = await shell(server, events!, { JOB: String(job_id) })
      assert.match(history, /^event: job_terminal$/m)
    }),
  )

  test('monitoring: the health answers as printed', async () => {
    await using server = await startServer()
    const page = readGuidePage('monitoring')
    const [given, printed] = [await shellJson(server, curlBlocks(page)[0]!), JSON.parse(codeBlock(page, 'json'))]
    assert.deepEqual(Object.keys(given).sort(), Object.keys(printed).sort())
    assert.equal(given.status, printed.status)
  })

  test('the job that waits for an approval is completed by it', async () => {
    await using server = await startServer()
    const [create, start, resume] = curlBlocks(readGuidePage('approvals-and-waits'))
    const { id } = await shellJson(server, create!)
    const { job_id, status } = await shellJson(server, start!, { WORKFLOW: String(id) })
    assert.equal(status, 'suspended')
    await shell(server, resume!, { JOB: String(job_id) })
    const completed = async () => {
      const job = (await (await fetch(`${server.url}/api/jobs/${String(job_id)}`)).json()) as JobSnapshot
      return job.status === 'completed' && job.result
    }
    assert.deepEqual((await until('the result', completed)).outputs, { paid: 20 })
  })

  test('the token is created, lets a page of another site in, and is revoked', async () => {
    await using server = await startServer()
    const [mint, use, revoke] = curlBlocks(readSection(readGuidePage('tokens-and-secrets'), 'Tokens'))
    const { id, token } = await shellJson<{ id: string; token: string }>(server, mint!)
    const env = { TOKEN: token, TOKEN_ID: id }
    const elsewhere = `${use!.trim()} -H 'Origin: http://elsewhere.example'`
    assert.deepEqual(await shellJson(server, elsewhere, env), [])
    assert.equal(await shell(server, revoke!, env), '')
    assert.deepEqual(await shellJson(server, elsewhere, env), { error: 'Remote access requires authentication' })
  })

  test('the preflight answers as printed', async () => {
    await using server = await startServer()
    const page = readGuidePage('preflight-and-submissions')
    assert.deepEqual(await shellJson(server, curlBlocks(page)[0]!), JSON.parse(codeBlock(page, 'json')))
  })

  test('the temporary upload can be read', async () => {
    await using server = await startServer()
    const [upload] = curlBlocks(readGuidePage('files-and-buckets'))
    const { uri, name } = await shellJson<{ uri: string; name: string }>(server, upload!)
    assert.equal(name, 'README.md')
    assert.equal(await (await fetch(server.url + uri)).text(), readReadme())
  })

  test('the assets and objects are stored, found and deleted', async () => {
    await using server = await startServer()
    const [, assets, objects] = curlBlocks(readGuidePage('files-and-buckets'))
    const [folder, file, found] = await answersOf(server, assets!)
    assert.equal(folder!.name, 'Reports')
    assert.deepEqual(file!.metadata, { year: 2026 })
    assert.deepEqual(
      (found!.assets as { id: string }[]).map(({ id }) => id),
      [file!.id],
    )
    const [put, get, remove] = objects!.trim().split('\n')
    await shell(server, put!)
    assert.equal(await shell(server, get!), readReadme().slice(0, 100))
    assert.equal(await shell(server, remove!), '')
  })
})

/** The answers of commands that stand on a line each. */
async function answersOf(server: TestServer, commands: string): Promise<Record<string, unknown>[]> {
  const answers = []
  for (const command of commands.trim().split('\n')) answers.push(await shellJson(server, command))
  return answers
}
