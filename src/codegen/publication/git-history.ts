// Reads all distinct publications of the contract from the history of git, the oldest
// first. Many publications of one version are compared as a sample.
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
  /** The first commit with this publication. */
  readonly commit: string
  readonly digest: string
  readonly version: string
  /** The position of its last commit in the history. A publication that was reverted and published again counts as the later one. */
  readonly last: number
}

/** Runs git in a repository. @throws where git fails */
function runGit(repository: string, args: readonly string[], input = ''): Buffer {
  return execFileSync('git', ['-C', repository, ...args], { input, maxBuffer: 2 ** 30, stdio: 'pipe' })
}

/** Returns each distinct publication in order of appearance, or the reason why the history is not available. */
export function listPublications(repository: string): PublishedContract[] | { unseen: string } {
  let commits: string[]
  try {
    if (String(runGit(repository, ['rev-parse', '--is-shallow-repository'])).trim() === 'true')
      return { unseen: 'this clone is shallow and lacks the older history' }
    // Publications of both sides of a merge count.
    const args = ['rev-list', '--full-history', '--topo-order', '--reverse', 'HEAD', '--', INDEX_PATH]
    commits = splitLines(runGit(repository, args))
  } catch {
    return { unseen: 'this folder has no git history' }
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

/** Reads the publication of a commit, and verifies only its digests. Later rules do not apply to it. */
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

/** One comparison takes about a tenth of a second. */
const MAX_COMPARED = 100

/** Returns the compared elements: the first, the last, and others in even steps between. */
export function sampleEvenly<T>(all: readonly T[]): T[] {
  if (all.length <= MAX_COMPARED) return [...all]
  return Array.from(
    { length: MAX_COMPARED },
    (_one, at) => all[Math.round((at * (all.length - 1)) / (MAX_COMPARED - 1))]!,
  )
}

interface IndexVersion {
  /** The first commit with this text. */
  readonly first: string
  /** The position of the last commit with this text. */
  readonly last: number
  readonly text: string
}

/** Returns the distinct texts of the index. It calls git twice, for any number of commits. */
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

/** Returns no version where the text is not an index. */
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
