import Foundation
import Testing

/// A web server as a distribution has it, run on the loopback with a configuration of its own.
struct WebServer: Sendable, CustomTestStringConvertible {
    /// What a configuration is made of.
    struct Place: Sendable {
        /// Holds `site`, `certificate.pem`, `key.pem`, `users` and whatever the server writes.
        let folder: URL
        let port: Int
        let tlsPort: Int

        var path: String { folder.path }
    }

    let name: String
    /// What tells its version; the first line is.
    let versionArguments: [String]
    let arguments: [String]
    let configuration: @Sendable (Place) -> String

    var testDescription: String { name }

    static let all = [nginx, apache, caddy]

    static let nginx = WebServer(
        name: "nginx",
        versionArguments: ["-v"],
        arguments: ["-c", "configuration", "-p", "."]
    ) { place in
        """
        daemon off;
        pid \(place.path)/nginx.pid;
        error_log stderr;
        worker_processes 1;
        events {}
        http {
            types { text/html html; }
            default_type application/octet-stream;
            access_log off;
            gzip on;
            client_body_temp_path \(place.path)/temporary;
            proxy_temp_path \(place.path)/temporary;
            fastcgi_temp_path \(place.path)/temporary;
            uwsgi_temp_path \(place.path)/temporary;
            scgi_temp_path \(place.path)/temporary;
            server {
                listen 127.0.0.1:\(place.port);
                listen 127.0.0.1:\(place.tlsPort) ssl http2;
                ssl_certificate \(place.path)/certificate.pem;
                ssl_certificate_key \(place.path)/key.pem;
                root \(place.path)/site;
                location = /old { return 302 /file.bin; }
                location /private/ { auth_basic test; auth_basic_user_file \(place.path)/users; }
            }
        }
        """
    }

    static let apache = WebServer(
        name: "apache2",
        versionArguments: ["-v"],
        arguments: ["-f", "configuration", "-d", ".", "-DFOREGROUND"]
    ) { place in
        let modules = [
            "mpm_event", "authz_core", "authz_user", "authn_core", "authn_file", "auth_basic", "mime", "filter",
            "deflate",
            "alias", "socache_shmcb", "ssl", "http2",
        ]
        return modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so\n" }.joined()
            + """
            ServerName 127.0.0.1
            PidFile \(place.path)/apache.pid
            Mutex file:\(place.path)
            ErrorLog \(place.path)/error.log
            User www-data
            Group www-data
            Listen 127.0.0.1:\(place.port)
            Listen 127.0.0.1:\(place.tlsPort)
            Protocols h2 http/1.1
            TypesConfig /dev/null
            AddType text/html .html
            AddOutputFilterByType DEFLATE text/html
            DocumentRoot \(place.path)/site
            Redirect 302 /old /file.bin
            <Directory \(place.path)/site>
                Require all granted
            </Directory>
            <Location /private>
                AuthType Basic
                AuthName test
                AuthBasicProvider file
                AuthUserFile \(place.path)/users
                Require valid-user
            </Location>
            <VirtualHost 127.0.0.1:\(place.tlsPort)>
                SSLEngine on
                SSLCertificateFile \(place.path)/certificate.pem
                SSLCertificateKeyFile \(place.path)/key.pem
            </VirtualHost>

            """
    }

    /// Its passwords are bcrypt's only: this is the one of `secret`.
    static let caddy = WebServer(
        name: "caddy",
        versionArguments: ["version"],
        arguments: ["run", "--config", "configuration", "--adapter", "caddyfile"]
    ) { place in
        """
        {
            admin off
            persist_config off
            auto_https off
            storage file_system \(place.path)/temporary
        }
        (site) {
            bind 127.0.0.1
            root * \(place.path)/site
            encode gzip
            redir /old /file.bin 302
            basicauth /private/* {
                user $2a$14$EtoHFdgBaGilubYdqJEpiOlyRMrbfBn.JkflBTlE14W4.nN4VpKKy
            }
            file_server
        }
        http://127.0.0.1:\(place.port) {
            import site
        }
        https://127.0.0.1:\(place.tlsPort) {
            tls \(place.path)/certificate.pem \(place.path)/key.pem
            import site
        }

        """
    }
}
