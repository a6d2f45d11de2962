// Large files that nodes load, process and save.
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'
import { sized } from './values.ts'

/** In bytes, below a node's limit. */
const LARGE = 99_000_000
/** The memory limit of a process for files. */
const PACKED = 50_000_000

/** Raw files. */
function bytesOf(length: number): Uint8Array {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4_096) bytes.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at)
  return bytes
}

/** Runs a graph on a file of so many bytes. */
function working(what: string, length: number, graphOf: (file: string) => Graph): Attack {
  let id = ''
  return {
    name: `${what} of ${(length / 1e6).toFixed(1)} MB`,
    async prepare(attacker) {
      const asset = await attacker.upload('large.bin', bytesOf(length))
      id = await attacker.store(graphOf(`asset://${asset}`))
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
      if (!/"status":"completed"/.test(text.slice(0, 300))) throw new Error(text.slice(0, 500))
    },
  }
}

const saving: AttackOf = (share) =>
  working('saving a file again', sized(LARGE, share), (uri) => ({
    nodes: [{ id: 'save', type: 'asset.Save', data: { data: { uri } } }],
    edges: [],
  }))

/** The file is packed unchanged, listed, and unpacked again. */
const packing: AttackOf = (share) =>
  working('packing a file', sized(PACKED, share), (file) => ({
    nodes: [
      { id: 'zip', type: 'archive.Zip', data: { files: [file], level: 0 } },
      { id: 'list', type: 'archive.List', data: {} },
      { id: 'unzip', type: 'archive.Unzip', data: {} },
    ],
    edges: ['list', 'unzip'].map((target) => ({
      source: 'zip',
      sourceHandle: 'archive',
      target,
      targetHandle: 'archive',
    })),
  }))

export const files: readonly AttackOf[] = [saving, packing]
