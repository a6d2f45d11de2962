// What is wrong with the contract, gathered so that an author sees everything at once.

export interface ContractProblem {
  /** Path within the contract's folder, or the name of a bundled document. */
  file: string
  /** JSON pointer into the file. */
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

/** Every problem once, by file and place. */
export function deduplicateProblems(problems: readonly ContractProblem[]): ContractProblem[] {
  const byText = new Map(problems.map((problem) => [formatProblem(problem), problem]))
  return [...byText.keys()].sort().map((text) => byText.get(text)!)
}
