// Problems of the contract. They are collected, so that an author sees all of them at once.

export interface ContractProblem {
  /** The path within the contract's folder, or the name of a bundled document. */
  file: string
  /** A JSON pointer into the file. */
  pointer: string
  message: string
}

export class ContractError extends Error {
  readonly problems: readonly ContractProblem[]

  constructor(problems: readonly ContractProblem[]) {
    super(`the contract has ${problems.length} problem(s)\n${problems.map(formatProblem).join('\n')}`)
    this.name = 'ContractError'
    this.problems = problems
  }
}

export function formatProblem({ file, pointer, message }: ContractProblem): string {
  return `${file}#${pointer}: ${message}`
}

/** Returns each problem once, by file and position. */
export function deduplicateProblems(problems: readonly ContractProblem[]): ContractProblem[] {
  const byText = new Map(problems.map((problem) => [formatProblem(problem), problem]))
  return [...byText.keys()].sort().map((text) => byText.get(text)!)
}
