import { signal } from '@preact/signals'
import { render } from 'preact'
import { startAlerts } from './alerts.ts'
import { apis } from './api.ts'
import { type App, AppContext } from './app.ts'
import { watchConversations } from './conversations/conversations.ts'
import { LANGUAGES } from './languages.ts'
import { loadPreferences } from './preferences.ts'
import { startRouter } from './route.ts'
import { watchServer } from './server-state.ts'
import { Shell } from './shell.tsx'
import { makeSignIn, SignInDialog } from './sign-in.tsx'
import { makeToasts, ToastList } from './ui/toasts.tsx'
import { speak } from './words.ts'

const signIn = makeSignIn()
const preferences = loadPreferences()
const language = LANGUAGES.find(({ code }) => code === preferences.language.value) ?? LANGUAGES[0]!
document.documentElement.lang = language.code
if (language.words) speak(await language.words())
await signIn.useLink()
window.addEventListener('hashchange', () => signIn.useLink())

const both = apis(() => signIn.ask())
const app: App = {
  ...both,
  ...startRouter(),
  conversations: watchConversations(both),
  server: watchServer(both.quiet),
  preferences,
  toasts: makeToasts(),
  title: signal(''),
}
startAlerts(app)
app.conversations.refresh()

render(
  <AppContext.Provider value={app}>
    <Shell />
    <SignInDialog asking={signIn.asking} />
    <ToastList toasts={app.toasts} />
  </AppContext.Provider>,
  document.body,
)
