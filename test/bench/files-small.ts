// Many small files up and down, beside the minimal server.
import type { BenchRow } from './engine.ts'
import { FileClient, fileOf, perSecond, type Servers, withServers } from './files-kit.ts'
import { compared } from './files-large.ts'
import { shown, sized } from './scale.ts'
import { takeTurns } from './turns.ts'

const KIB = 4
const COUNT = sized(10_000, 100)
const CONNECTIONS = 10
const ROUNDS = 3

export function benchSmallFiles(): Promise<BenchRow[]> {
  return withServers(async (servers) => [...(await uploads(servers)), ...(await downloads(servers))])
}

const FILES = `${shown(COUNT)} files of ${KIB} KiB`
const AT_ONCE = `${CONNECTIONS} connections`

async function uploads({ ours, bare }: Servers): Promise<BenchRow[]> {
  using client = new FileClient(CONNECTIONS)
  const put = (base: string, round: number) =>
    perSecond(COUNT, CONNECTIONS, (at) => {
      const name = `small-${round}-${at}`
      return client.put(base + name, KIB * 1_024, fileOf(name, KIB * 1_024))
    })
  let round = 0
  const turn = await takeTurns(ROUNDS, { bare: () => put(bare, round), ours: () => put(ours, round++) })
  return compared(`${FILES} up, ${AT_ONCE}`, turn, 'files/s')
}

async function downloads({ ours, bare }: Servers): Promise<BenchRow[]> {
  using client = new FileClient(CONNECTIONS)
  const get = (base: string) => perSecond(COUNT, CONNECTIONS, (at) => client.get(`${base}small-0-${at}`, KIB * 1_024))
  const turn = await takeTurns(ROUNDS, { bare: () => get(bare), ours: () => get(ours) })
  return compared(`${FILES} down, ${AT_ONCE}`, turn, 'files/s')
}
