// What the server needs, in one piece; main.ts finds it loaded.
import './app.ts'
import './cli/serve.ts'
import './main.ts'
