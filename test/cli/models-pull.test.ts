// `svc models pull` as a process: what it downloads, prints and leaves behind, even when it is killed.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inFolder } from '../helpers/folder.ts'
import { startHub } from '../helpers/hub.ts'
import { MAIN, runProcess, svc } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'

const REPO = 'maker/model'
const BIG = randomBytes(400_000)
const files = () => ({ [REPO]: { 'big.gguf': { bytes: BIG }, 'notes.txt': { bytes: Buffer.from('x'), lfs: false } } })

test(
  'models pull downloads with the key of the environment, and prints the path',
  inFolder(async (folder) => {
    await using hub = await startHub(files())
    hub.key = 'hf_of_the_environment'
    const environment = { SVC_DATA_DIR: folder, HF_TOKEN: hub.key }
    const { code, stdout, stderr } = await svc(['models', 'pull', REPO, 'big.gguf', '--hub', hub.url], environment)
    assert.deepEqual([code, stdout], [0, `${join(folder, 'models', REPO, 'big.gguf')}\n`], stderr)
    assert.match(stderr, /maker\/model: 0\.4 of 0\.4 MB, 1 of 1 file/)
    assert.deepEqual(readFileSync(join(folder, 'models', REPO, 'big.gguf')), BIG)
    assert.equal(existsSync(join(folder, 'models', REPO, 'notes.txt')), false)
  }),
)

test(
  'models pull says why it fails, and refuses wrong usage',
  inFolder(async (folder) => {
    await using hub = await startHub(files())
    const run = (...args: string[]) => svc(['models', 'pull', ...args, '--hub', hub.url], { SVC_DATA_DIR: folder })
    const missing = await run('maker/none')
    assert.deepEqual([missing.code, missing.stdout], [1, ''])
    assert.match(missing.stderr, /svc: The hub has no "maker\/none"/)
    assert.equal((await run('../x')).code, 2)
    const unsafe = await run(REPO, '../../x')
    assert.deepEqual([unsafe.code, unsafe.stderr], [3, 'svc: FILE "../../x" is not a usable path\n'])
    assert.match((await run('con/x')).stderr, /^svc: REPO "con\/x" is not a usable repository name$/m)
    assert.equal((await run(REPO, '--exclude', '*')).code, 1)
    const before = hub.requests.length
    for (const empty of ['--include=', '--exclude=', '']) {
      const { code, stderr } = await run(REPO, empty)
      assert.equal(code, 2, stderr)
    }
    assert.equal(hub.requests.length, before)
  }),
)

test(
  'models pull says which hub does not answer, and how to name another hub',
  inFolder(async (folder) => {
    const hub = 'http://nowhere.invalid'
    const { code, stderr } = await svc(['models', 'pull', REPO, '--hub', hub], { SVC_DATA_DIR: folder })
    const cure = '--hub or SVC_MODEL_HUB_URL names another hub.'
    const words = `The hub ${hub} did not answer: "nowhere.invalid" is not known. Check its spelling. ${cure}`
    assert.deepEqual([code, stderr], [1, `svc: ${words}\n`])
  }),
)

test(
  'models pull that was killed continues where it stopped',
  inFolder(async (folder) => {
    await using hub = await startHub(files())
    const never = new Promise(() => {})
    hub.fault = ({ path }) => (path.startsWith('/api/') ? undefined : { pause: { after: 250_000, until: never } })
    const args = ['models', 'pull', REPO, 'big.gguf', '--hub', hub.url]
    {
      await using running = runProcess(MAIN, args, { SVC_DATA_DIR: folder })
      const unfinished = join(folder, 'models', '.incomplete')
      await until('half of it', () => {
        const names = existsSync(unfinished) ? readdirSync(unfinished) : []
        return names.some((name) => /^[0-9a-f]{64}$/.test(name) && statSync(join(unfinished, name)).size > 100_000)
      })
      running.kill('SIGKILL')
      await running.ended()
    }
    assert.equal(existsSync(join(folder, 'models', REPO, 'big.gguf')), false)
    hub.fault = () => undefined
    assert.equal((await svc(args, { SVC_DATA_DIR: folder })).code, 0)
    assert.deepEqual(readFileSync(join(folder, 'models', REPO, 'big.gguf')), BIG)
    assert.match(hub.files().at(-1)?.range ?? '', /^bytes=\d{6}-$/)
  }),
)
