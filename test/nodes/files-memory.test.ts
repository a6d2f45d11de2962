// Files count in the memory account of a run while they are loaded and processed.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { type LoadableFile, loadVerifiedFile } from '../../src/assets/verified-file-loader.ts'
import type { NodeServices } from '../../src/engine/node-api/node-services.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { graph, node, planOf, Recorder, sink } from '../engine/kit.ts'

const MIB = 1_048_576
const FILE = Buffer.alloc(2 * MIB)

/** Ends only with the signal. */
function endless(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

const image = { image: 'asset://a' }

/** The outcome of a run whose memory limit is 8 MiB, in which two nodes, one after the other, process so many files in parallel. */
async function working(count: number, services: Partial<NodeServices>): Promise<string> {
  const of = graph(
    [
      node('n', 'control.Numbers', { from: 1, to: count }),
      node('a', 'image.Resize', image),
      node('b', 'image.Resize', image),
      sink('out'),
    ],
    ['n.item->a.width', 'a.width->b.width', 'b.width->out.value'],
  )
  const [signal, observer] = [new AbortController().signal, new Recorder()]
  const lent = { ...noServices, ...services }
  const run = executePlan(planOf(of), { params: {}, signal, observer, services: lent, memoryLimit: 8 * MIB })
  const outcome = await run.done
  return outcome.status === 'failed' ? outcome.error.message : outcome.status
}

test('files that are being loaded count in the memory of a run', async () => {
  const end = new AbortController()
  const load = async (_reference: string, _most: number, held?: (bytes: number) => void) => {
    held?.(FILE.length)
    return endless(end.signal)
  }
  const message = working(10, { assets: { ...noServices.assets, load } })
  setTimeout(() => end.abort(new Error('nobody reads on')), 300)
  assert.match(await message, /^The run holds more than 8 MiB of values/)
})

test('files that are being processed count in the memory of a run', async () => {
  const load = async () => ({ bytes: FILE, content_type: 'image/png', name: 'a.png' })
  const media = { run: ({ signal }: { signal: AbortSignal }) => endless(signal) }
  const message = await working(10, { assets: { ...noServices.assets, load }, media })
  assert.match(message, /^The run holds more than 8 MiB of values/)
})

test('a file that was processed no longer counts in the memory of a run', async () => {
  const load = async () => ({ bytes: FILE, content_type: 'image/png', name: 'a.png' })
  const run = async () => ({ value: { width: 1, height: 1, content_type: 'image/png' }, files: [Buffer.alloc(10)] })
  assert.equal(await working(3, { assets: { ...noServices.assets, load }, media: { run } }), 'completed')
})

test('a file counts while it is loaded, until it is loaded or failed', async () => {
  const told: number[] = []
  const file = (content: Buffer): LoadableFile => ({
    name: 'a',
    content_type: 'text/plain',
    size: 3,
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    read: async () => Readable.from([content]),
  })
  const held = (bytes: number) => void told.push(bytes)
  assert.equal((await loadVerifiedFile(file(Buffer.from('abc')), 3, held))?.bytes.length, 3)
  await assert.rejects(loadVerifiedFile(file(Buffer.from('abd')), 3, held), { type: 'data_damaged' })
  assert.deepEqual(told, [3, -3, 3, -3])
})
