// The colours: as the system says, light or dark. The choice stays in this browser.
import { readChoice, storeChoice } from './choices.js'

const KEY = 'reference-colours'
const CHOICES = /** @type {const} */ ({
  system: { next: 'light', sign: '◐', label: 'Colours: as the system' },
  light: { next: 'dark', sign: '☀', label: 'Colours: light' },
  dark: { next: 'system', sign: '☾', label: 'Colours: dark' },
})

/** @param {HTMLElement} button */
export function startTheme(button) {
  const preference = matchMedia('(prefers-color-scheme: dark)')
  let choice = stored()
  const apply = () => {
    const dark = choice === 'dark' || (choice === 'system' && preference.matches)
    // `dark-mode` is the class that Swagger UI looks for.
    document.documentElement.classList.toggle('dark-mode', dark)
    document.documentElement.classList.toggle('light-mode', !dark)
    button.textContent = CHOICES[choice].sign
    button.title = CHOICES[choice].label
    button.setAttribute('aria-label', CHOICES[choice].label)
  }
  button.addEventListener('click', () => {
    choice = CHOICES[choice].next
    storeChoice(KEY, choice)
    apply()
  })
  preference.addEventListener('change', apply)
  apply()
}

/** @returns {keyof typeof CHOICES} */
function stored() {
  const value = readChoice(KEY)
  return value === 'light' || value === 'dark' ? value : 'system'
}
