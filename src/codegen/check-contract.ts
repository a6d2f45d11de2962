// `make check-contract`: a change may break an earlier version only where the version number says so. No change may break a publication of
// the same version. Later publications may rely on operations that earlier ones only planned. The check therefore compares all publications
// of this version in the history, or a sample of a hundred. It also compares the last publication of the highest earlier version.
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Difference } from '../contract/diff/differences.ts'
import { diffPublications } from '../contract/diff/publications.ts'
import type { ContractPublication } from '../contract/publication-files.ts'
import { readPublication } from '../contract/publication-reader.ts'
import { type ContractVersion, canBreak, compareVersions, parseVersion } from './publication/contract-version.ts'
import {
  listPublications,
  PUBLICATION_FOLDER,
  type PublishedContract,
  readPublicationAt,
  sampleEvenly,
} from './publication/git-history.ts'

const isHistoryExpected = process.env.SVC_TEST_EXPECT?.split(',').includes('history') === true

function reportMissingHistory(history: string): number {
  if (!isHistoryExpected) console.log(`skipped: ${history}`)
  else console.error(`${history}, but SVC_TEST_EXPECT expects the history`)
  return isHistoryExpected ? 1 : 0
}

const shortenCommit = (commit: string) => commit.slice(0, 12)

interface BreakingDifference extends Difference {
  readonly commit: string
}

/** Lists the changes that break one of these publications, each once. */
function listBreaksSince(
  repository: string,
  commits: readonly string[],
  now: ContractPublication,
): BreakingDifference[] {
  const found = new Map<string, BreakingDifference>()
  for (const commit of commits) {
    for (const one of diffPublications(readPublicationAt(repository, commit), now)) {
      const key = `${one.place}\n${one.message}\n${one.rule}`
      if (one.verdict === 'breaking' && !found.has(key)) found.set(key, { ...one, commit })
    }
  }
  return [...found.values()]
}

function printBreaks(breaks: readonly BreakingDifference[]): void {
  for (const { place, message, rule, commit } of breaks)
    console.error(`breaking ${place} ${message} (${rule}), as published in ${shortenCommit(commit)}`)
}

/** Counts the changes that break a publication of the same version. */
function countBreaksUnderSameVersion(
  repository: string,
  published: readonly PublishedContract[],
  now: ContractPublication,
): number {
  const version = now.contract_version
  if (published.length === 0) {
    console.log(`version ${version} is new: no commit publishes it`)
    return 0
  }
  const earlier = published.filter(({ digest }) => digest !== now.digest).map(({ commit }) => commit)
  const compared = sampleEvenly(earlier)
  const breaks = listBreaksSince(repository, compared, now)
  const number = compared.length < earlier.length ? `${compared.length} of ${earlier.length}` : `${earlier.length}`
  const since = shortenCommit(published[0]!.commit)
  console.log(
    `the contract against ${number} earlier publications of version ${version}, since ${since}: ${breaks.length} breaking`,
  )
  printBreaks(breaks)
  return breaks.length
}

/** Counts the changes that break the version before, where its number does not allow them. */
function countBreaksSinceVersion(
  repository: string,
  before: PublishedContract,
  now: ContractPublication,
  allowed: boolean,
): number {
  const breaks = listBreaksSince(repository, [before.commit], now)
  const so = allowed && breaks.length > 0 ? ', as its number allows' : ''
  console.log(
    `the contract against the last publication of version ${before.version}, ${shortenCommit(before.commit)}: ${breaks.length} breaking${so}`,
  )
  if (allowed) return 0
  printBreaks(breaks)
  return breaks.length
}

interface NumberedPublication extends PublishedContract {
  readonly number: ContractVersion
}

/** Returns the publications with a valid version, from the lowest version to the highest. Publications of one version keep their order. */
function sortByVersion(all: readonly PublishedContract[]): NumberedPublication[] {
  return all
    .flatMap((one) => {
      const number = parseVersion(one.version)
      return number ? [{ ...one, number }] : []
    })
    .sort((a, b) => compareVersions(a.number, b.number) || a.last - b.last)
}

function refuse(reason: string): number {
  console.error(reason)
  return 3
}

function main(): number {
  const { positionals } = parseArgs({ allowPositionals: true })
  const repository = resolve(positionals[0] ?? join(import.meta.dirname, '../..'))
  const now = readPublication(join(repository, PUBLICATION_FOLDER))
  const version = now.contract_version
  const number = parseVersion(version)
  if (!number) return refuse(`${version} is not a version with three numbers`)
  const all = listPublications(repository)
  if ('unseen' in all) return reportMissingHistory(all.unseen)
  const numbered = sortByVersion(all)
  const highest = numbered.at(-1)
  if (!highest) return reportMissingHistory('no commit has a publication of the contract yet')
  if (compareVersions(number, highest.number) < 0)
    return refuse(
      `version ${version} is lower than ${highest.version}, as published in ${shortenCommit(highest.commit)}`,
    )
  const same = all.filter((one) => one.version === version)
  const before = numbered.findLast((one) => compareVersions(one.number, number) < 0)
  const broken =
    countBreaksUnderSameVersion(repository, same, now) +
    (before ? countBreaksSinceVersion(repository, before, now, canBreak(number, before.number)) : 0)
  if (broken === 0) return 0
  return refuse('Raise info.version in spec/openapi.yaml and spec/asyncapi.yaml, or take the changes back.')
}

process.exitCode = main()
