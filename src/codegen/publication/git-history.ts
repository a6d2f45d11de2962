// What the history of git has published of the contract: every distinct publication, the oldest first. Those of one version, where they are many,
// are compared as a sample.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { config } from '../../../codegen.config.ts'
import { type ContractPublication, readPublicationFiles } from '../../contract/publication-files.ts'

/** The publication's folder within the repository. */
export const PUBLICATION_FOLDER = `${config.generated}/${config.publication.folder}`
const INDEX_PATH = `${PUBLICATION_FOLDER}/${config.publication.index}`

export interface PublishedContract {
  /** The first commit that has it. */
  readonly commit: string
  readonly digest: string
  readonly version: string
  /** Where in the history it was last published: what is taken back and published again is the later one. */
  readonly last: number
}

/** What git says in a repository. @throws where it refuses */
function runGit(repository: string, args: readonly string[], input = ''): Buffer {
  return execFileSync('git', ['-C', repository, ...args], { input, maxBuffer: 2 ** 30, stdio: 'pipe' })
}

/** Each distinct publication, in the order in which they first came; or why that cannot be seen. */
export function listPublications(repository: string): PublishedContract[] | { unseen: string } {
  let commits: string[]
  try {
    if (String(runGit(repository, ['rev-parse', '--is-shallow-repository'])).trim() === 'true')
      return { unseen: 'this clone lacks the older history' }
    // Whatever a merge left behind was published as well.
    const args = ['rev-list', '--full-history', '--topo-order', '--reverse', 'HEAD', '--', INDEX_PATH]
    commits = splitLines(runGit(repository, args))
  } catch {
    return { unseen: 'there is no history of git here' }
  }
  const found = new Map<string, PublishedContract>()
  for (const { first, last, text } of readIndexVersions(repository, commits)) {
    const { contract_version: version, digest } = parseIndexHead(text)
    if (version === undefined) continue
    const key = `${version} ${digest}`
    const known = found.get(key)
    found.set(key, known ? { ...known, last: Math.max(known.last, last) } : { commit: first, digest, version, last })
  }
  return [...found.values()]
}

/** The publication of a commit, as it was published. It is held against its own digests alone: it stands whatever was asked of it since. */
export function readPublicationAt(repository: string, commit: string): ContractPublication {
  const folder = mkdtempSync(join(tmpdir(), 'svc-contract-'))
  try {
    const archive = join(folder, 'publication.tgz')
    writeFileSync(archive, runGit(repository, ['archive', '--format=tgz', `${commit}:${PUBLICATION_FOLDER}`]))
    return readPublicationFiles(archive)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A comparison takes about a tenth of a second. */
const MAX_COMPARED = 100

/** As many of them as are compared: the first, the last, and others in even steps between. */
export function sampleEvenly<T>(all: readonly T[]): T[] {
  if (all.length <= MAX_COMPARED) return [...all]
  return Array.from(
    { length: MAX_COMPARED },
    (_one, at) => all[Math.round((at * (all.length - 1)) / (MAX_COMPARED - 1))]!,
  )
}

interface IndexVersion {
  /** The first of the commits that has it. */
  readonly first: string
  /** The position of the last one. */
  readonly last: number
  readonly text: string
}

/** The distinct texts of the index. Two calls of git, however many commits there are. */
function readIndexVersions(repository: string, commits: readonly string[]): IndexVersion[] {
  const names = commits.map((commit) => `${commit}:${INDEX_PATH}\n`).join('')
  const blobs = new Map<string, { first: string; last: number }>()
  splitLines(runGit(repository, ['cat-file', '--batch-check'], names)).forEach((line, at) => {
    const [blob, type] = line.split(' ')
    if (type === 'blob') blobs.set(blob!, { first: blobs.get(blob!)?.first ?? commits[at]!, last: at })
  })
  const texts = runGit(repository, ['cat-file', '--batch'], [...blobs.keys()].map((blob) => `${blob}\n`).join(''))
  let at = 0
  return [...blobs.values()].map((place) => {
    const start = texts.indexOf('\n', at) + 1
    const size = Number(texts.subarray(at, start).toString().trim().split(' ').at(-1))
    at = start + size + 1
    return { ...place, text: texts.subarray(start, start + size).toString() }
  })
}

/** Says nothing of a version where the text is no index. */
function parseIndexHead(index: string): { contract_version?: string; digest: string } {
  try {
    return JSON.parse(index) as { contract_version: string; digest: string }
  } catch {
    return { digest: '' }
  }
}

function splitLines(output: Buffer): string[] {
  return String(output).split('\n').filter(Boolean)
}
