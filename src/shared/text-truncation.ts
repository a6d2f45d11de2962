// Texts of others in messages: never longer than a reader wants.

export function truncateText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** A value as messages show it. */
export function truncateValue(value: string | number): string {
  return truncateText(String(value), 40)
}
